import { targetOf } from './target.ts'

/** Deepest path whose segments are looked at; no route is nearly as deep. */
const SEGMENTS_MAX = 16

/** What `Bun.serve` calls for a request, with the segments of its path if a pattern fits it. */
interface Routed extends Request {
  readonly params?: Readonly<Record<string, string>>
}

/**
 * Patterns for `Bun.serve` that every path of 1 to 16 segments matches. `Request.url` has been normalized already, so
 * that `/v1/..\metrics` reads as `/metrics`; but Bun's router matches what was really sent, and hands over its segments.
 */
export function segmentPatterns(): readonly string[] {
  return Array.from({ length: SEGMENTS_MAX }, (_, last) =>
    Array.from({ length: last + 1 }, (_, index) => `/:s${index}`).join(''),
  )
}

/** True if normalization has made another path of the one that was sent. */
export function isAltered({ url, params }: Routed): boolean {
  const path = targetOf(url)?.path
  // What cannot be read is refused without our help.
  if (path === undefined) return false
  const segments = path.slice(1).split('/')
  if (params === undefined) {
    // No pattern fits an empty segment, nor a path that is too deep: what has become neither has lost segments.
    return !segments.includes('') && segments.length <= SEGMENTS_MAX
  }
  const sent = Object.values(params)
  return sent.length !== segments.length || sent.some((segment, index) => isOther(segment, segments[index] ?? ''))
}

/** `sent` has been decoded: a backslash in it was either `%5c`, which stays, or one that now separates segments. */
function isOther(sent: string, segment: string): boolean {
  if (sent === segment) return false
  if (sent === '.' || sent === '..') return true
  return sent.split('\\').length !== segment.split(/%5c/i).length
}
