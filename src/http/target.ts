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
 * rest of the way to the route. Nothing if the target is not a path, begins like a host, has a fragment, or is longer
 * than is read.
 */
export function targetOf(url: string): Target | undefined {
  const start = pathStart(url)
  if (start < 0 || url.length - start > TARGET_LENGTH_MAX) return undefined
  // No client sends a fragment; whoever stands in front of us may take it for a part of the path.
  if (url.includes('#', start) || url.startsWith('//', start)) return undefined
  const mark = url.indexOf('?', start)
  if (mark < 0) return { path: url.slice(start), query: '' }
  return { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/**
 * True if a path reads the same before and after a URL parser has been at it: without dot segments in any encoding,
 * without backslashes, which it takes for slashes, and without an empty first segment, which it takes for a host.
 */
export function isPlainPath(path: string): boolean {
  return !path.startsWith('//') && !/\\|\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)
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
