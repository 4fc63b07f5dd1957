export const isRecordsPath = (path: string): boolean =>
  path === '/v1' ||
  path.startsWith('/v1/') ||
  path === '/introspect' ||
  path.startsWith('/.well-known/oauth-')
