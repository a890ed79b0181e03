import { LOGGED_PATH_LENGTH_MAX, TARGET_LENGTH_MAX } from './limits.ts'

/** Path and query of a request, both as they stand in its target: not decoded. */
export interface Target {
  /** Starts with `/`. */
  readonly path: string
  /** Without `?`; empty where there is none. */
  readonly query: string
}

const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::(?:[0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?$/

/** True where a `Host` header names a host, with or without a port. Missing, doubled and broken ones do not. */
export function isHost(host: string | null): host is string {
  return host !== null && HOST.test(host)
}

/**
 * Path and query of `Request.url`, found by hand: `new URL` throws where the host is broken and costs more than the
 * rest of the way to the route. Nothing where the target is no path, or longer than is read.
 */
export function targetOf(url: string): Target | undefined {
  const start = pathStart(url)
  if (start < 0 || url.length - start > TARGET_LENGTH_MAX) return undefined
  const fragment = url.indexOf('#', start)
  const end = fragment < 0 ? url.length : fragment
  const mark = url.indexOf('?', start)
  if (mark < 0 || mark > end) return { path: url.slice(start, end), query: '' }
  return { path: url.slice(start, mark), query: url.slice(mark + 1, end) }
}

/** What the log may say of a target that `targetOf` does not read: its beginning, or `/`. */
export function unreadTarget(url: string): string {
  const start = pathStart(url)
  return start < 0 ? '/' : url.slice(start, start + LOGGED_PATH_LENGTH_MAX)
}

function pathStart(url: string): number {
  if (url.startsWith('/')) return 0
  if (url.startsWith('http://')) return url.indexOf('/', 7)
  if (url.startsWith('https://')) return url.indexOf('/', 8)
  return -1
}
