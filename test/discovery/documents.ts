// The OpenAPI documents of a configuration, as the service would write them.
import type { Config } from '../../config/config.ts';
import { openapiDocument, operationIdsOf } from '../../http/openapi/document.ts';
import type { JsonObject } from '../../runtime/packing.ts';

export function documentOf(config: Config): JsonObject {
  const plugins = Object.values(config.plugins);
  const title = config.service.name;
  return openapiDocument({ title, version: '0.1.0', plugins, operationIds: operationIdsOf(config) });
}

export function pluginDocumentOf(config: Config, name: string): JsonObject {
  const plugin = config.plugins[name]!;
  const { version } = plugin.manifest;
  return openapiDocument({ title: name, version, plugins: [plugin], operationIds: operationIdsOf(config) });
}
