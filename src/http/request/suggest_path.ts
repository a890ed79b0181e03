import { editDistance, findNearest, misspellingDistance } from '../../lib/text/nearest.ts'

/** Most segments of a path that gets a suggestion; no route is as deep. */
const SEGMENTS_MAX = 12
/** Largest distance of a template for each requested segment. */
const DIFFERENCE_MAX = 0.7
/**
 * Removing a requested segment costs more than adding one, because callers omit segments more often than they invent
 * them. A different word costs as much as a removal and an addition: it is no spelling mistake.
 */
const COSTS = { remove: 1.5, add: 0.7, replace: computeDifference }

const PARAMETER_COST = 0.1

/** Returns the template nearest to a path without an endpoint; undefined if none is near. */
export function suggestPath(path: string, templates: Iterable<string>): string | undefined {
  const segments = toSegments(path)
  if (segments.length === 0 || segments.length > SEGMENTS_MAX) return undefined
  return findNearest(templates, (template) => {
    const distance = editDistance(segments, toSegments(template), COSTS)
    return distance <= segments.length * DIFFERENCE_MAX ? distance : undefined
  })
}

/** Cost of replacing a segment. A parameter, `{id}`, matches any segment, but an equal word is nearer. */
function computeDifference(requested: string, segment: string): number {
  if (segment.startsWith('{')) return PARAMETER_COST
  // The name of a family without its version.
  if (segment.startsWith(`${requested}-`)) return PARAMETER_COST
  const letters = misspellingDistance(requested, segment)
  return letters === undefined ? COSTS.remove + COSTS.add : letters / segment.length
}

function toSegments(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}
