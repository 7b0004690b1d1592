// The files of a gateway's directory that may hold secrets, each with its reason. The only other place is the stdin of plugins.

const places: readonly (readonly [path: RegExp, reason: string])[] = [
  [/^config\.yaml(\.new)?$/, 'the configuration itself: its owner wrote tokens and webhook keys into it'],
  [/^plugins\//, 'the code of plugins, as the test wrote it: the service writes nothing there'],
  [/^data\/vault\.key(\.next)?$/, 'the unlock key has to be somewhere: mode 0600'],
  [
    /^data\/vault-abandoned-[^/]+\.key(\.next)?$/,
    'the unlock key of a vault that was set aside: renamed, its mode as before',
  ],
  [/^data\/api-token$/, 'the token that a first start makes for its owner: mode 0600'],
];

export function mayHold(path: string): boolean {
  return places.some(([pattern]) => pattern.test(path));
}
