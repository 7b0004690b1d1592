// The OpenAPI documents of a configuration, as the service would write them.
import type { Config } from '../../../config/config.ts';
import { controlDocument } from '../../../http/openapi/control.ts';
import { openapiDocument, operationIdsOf } from '../../../http/openapi/document.ts';
import { pipelinesDocument } from '../../../http/openapi/pipelines.ts';
import { apiRoutes } from '../../../http/routes/api.ts';
import type { JsonObject } from '../../../runtime/packing.ts';

export function documentOf(config: Config): JsonObject {
  const plugins = Object.values(config.plugins);
  const title = config.service.name;
  return openapiDocument(title, '0.1.0', plugins, operationIdsOf(config));
}

export function pipelinesDocumentOf({ service, pipelines }: Config): JsonObject {
  return pipelinesDocument(service.name, '0.1.0', pipelines);
}

/** The document of the control routes, which is the same for every configuration except for its name. */
export function controlDocumentOf(): JsonObject {
  return controlDocument('control', '0.1.0', apiRoutes);
}

export function pluginDocumentOf(config: Config, name: string): JsonObject {
  const plugin = config.plugins[name]!;
  const { version } = plugin.manifest;
  return openapiDocument(name, version, [plugin], operationIdsOf(config));
}
