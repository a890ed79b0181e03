import { CodedError } from '../../lib/error.ts'
import { LOGGED_PATH_LENGTH_MAX, TARGET_LENGTH_MAX } from '../limits.ts'

export interface Target {
  /** Starts with `/`. */
  readonly path: string
  /** Without `?`; may be empty. */
  readonly query: string
}

/**
 * Parses path and query of `Request.url`, without `new URL`, which throws on an invalid host and costs more than all
 * other routing. Undefined if the target is not a path, begins like a host, has a fragment, or is too long.
 */
export function parseTarget(url: string): Target | undefined {
  const start = findPathStart(url)
  if (start < 0 || url.length - start > TARGET_LENGTH_MAX) return undefined
  // No client sends a fragment, and a proxy may treat it as a part of the path.
  if (url.includes('#', start) || url.startsWith('//', start)) return undefined
  const mark = url.indexOf('?', start)
  if (mark < 0) return { path: url.slice(start), query: '' }
  return { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/**
 * True if a URL parser leaves a path unchanged: without dot segments in any encoding, without backslashes, which become
 * slashes, and without an empty first segment, which becomes a host.
 */
export function isNormalizedPath(path: string): boolean {
  return !path.startsWith('//') && !/\\|\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path)
}

/** Returns the error of a target that `parseTarget` refuses. */
export function toTargetError(url: string): CodedError {
  const start = findPathStart(url)
  if (start < 0 || url.length - start <= TARGET_LENGTH_MAX) return badTargetError()
  return new CodedError(
    'INVALID_REQUEST',
    `Cannot read the request: expected at most ${TARGET_LENGTH_MAX} characters of path and query`,
  )
}

/** Creates the error of a request whose target or host is invalid. */
export function badTargetError(): CodedError {
  return new CodedError('INVALID_REQUEST', 'Cannot read the request: expected a path as its target and a valid Host')
}

/** Returns the path to log for a target that `parseTarget` refuses: its beginning, or `/`. */
export function getLoggablePath(url: string): string {
  const start = findPathStart(url)
  return start < 0 ? '/' : url.slice(start, start + LOGGED_PATH_LENGTH_MAX)
}

function findPathStart(url: string): number {
  if (url.startsWith('/')) return 0
  if (url.startsWith('http://')) return url.indexOf('/', 7)
  if (url.startsWith('https://')) return url.indexOf('/', 8)
  return -1
}

/** True for methods without a body. */
export function isBodylessMethod(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}
