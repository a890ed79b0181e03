import { parseTarget } from '../request/target.ts'

/** Most segments of a path that are compared; no route is nearly as deep. */
const SEGMENTS_MAX = 16

/**
 * Returns patterns for `Bun.serve` that match every path of 1 to 16 segments. `Request.url` is normalized:
 * `/v1/..\metrics` becomes `/metrics`. Bun's router matches the path as it was sent, and passes its segments on.
 */
export function segmentPatterns(): readonly string[] {
  return Array.from({ length: SEGMENTS_MAX }, (_, last) =>
    Array.from({ length: last + 1 }, (_, index) => `/:s${index}`).join(''),
  )
}

/** True if normalization has changed the path that was sent; `params` are its segments, if a pattern fits. */
export function isPathAltered({
  url,
  params,
}: Request & { readonly params?: Readonly<Record<string, string>> }): boolean {
  const path = parseTarget(url)?.path
  // The app refuses such a target.
  if (path === undefined) return false
  if (params === undefined) {
    const segments = path.slice(1).split('/')
    // No pattern matches an empty segment or too deep a path. Any other path has lost segments by normalization.
    return !segments.includes('') && segments.length <= SEGMENTS_MAX
  }
  // Without lists, because every request runs this. `at` is the start of a segment.
  let at = 1
  for (const name in params) {
    const sent = params[name] ?? ''
    if (at > path.length) return true
    const slash = path.indexOf('/', at)
    const end = slash < 0 ? path.length : slash
    // Compared in place: nearly every segment is as it was sent.
    const isSame = sent.length === end - at && path.startsWith(sent, at)
    if (!isSame && isOther(sent, path.slice(at, end))) return true
    at = end + 1
  }
  return at <= path.length
}

/** True if segments differ. `sent` is decoded: its backslash was `%5c`, which stays, or a real one, now a separator. */
function isOther(sent: string, segment: string): boolean {
  if (sent === '.' || sent === '..') return true
  return sent.split('\\').length !== segment.split(/%5c/i).length
}
