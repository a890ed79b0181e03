const EXPOSED = [
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-credits-charged',
  'x-credits-remaining',
  'etag',
  'x-as-of',
  'x-unwitnessed',
  'x-wallet',
  'x-error-param',
  'x-snapshots-from',
  'x-progress',
  'idempotency-replayed',
  'link',
  'x-total-count',
  'x-coverage',
  'x-counts',
  'x-fx',
  'retry-after',
  'mcp-session-id',
].join(', ')

const ALLOWED = [
  'authorization',
  'content-type',
  'x-request-id',
  'idempotency-key',
  'if-none-match',
  'mcp-protocol-version',
  'mcp-session-id',
  'mcp-method',
  'mcp-name',
  'x-budget-credits',
].join(', ')

/**
 * Creates the headers that let pages of the configured origins read an answer; undefined if none are configured.
 * Answers to other origins have no permission, so browsers hide them.
 */
export function createCors(
  origins: readonly string[],
): (request: Request) => Readonly<Record<string, string>> | undefined {
  if (origins.length === 0) return () => undefined
  const allowed = new Set(origins)
  const deniedHeaders = { vary: 'origin' }
  return (request) => {
    const origin = request.headers.get('origin')
    if (origin === null || !allowed.has(origin)) return deniedHeaders
    return { vary: 'origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED }
  }
}

/** Additional headers of a preflight answer; `allow` lists the path's methods. */
export function preflightHeaders(allow: string): Readonly<Record<string, string>> {
  return {
    allow,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': ALLOWED,
    'access-control-max-age': '600',
  }
}
