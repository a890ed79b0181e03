import { editDistance, findNearest, misspellingDistance } from '../../lib/text/nearest.ts'

/** No path that is meant for us is deeper. */
const SEGMENTS_MAX = 12
/** A template may differ by this much for each segment that was asked for. */
const DIFFERENCE_MAX = 0.7
/**
 * What was written is meant, so it costs more to remove a segment than to add one, and another word is not a mistake in
 * spelling.
 */
const COSTS = { remove: 1.5, add: 0.7, replace: difference }

const PARAMETER_COST = 0.1

/** The template that a path without an endpoint probably was meant to fit; undefined if none is near. */
export function suggestPath(path: string, templates: Iterable<string>): string | undefined {
  const asked = segmentsOf(path)
  if (asked.length === 0 || asked.length > SEGMENTS_MAX) return undefined
  return findNearest(templates, (template) => {
    const distance = editDistance(asked, segmentsOf(template), COSTS)
    return distance <= asked.length * DIFFERENCE_MAX ? distance : undefined
  })
}

/** A parameter, `{id}`, may be any segment, though a word that stands there is nearer. */
function difference(asked: string, segment: string): number {
  if (segment.startsWith('{')) return PARAMETER_COST
  // A family without its version.
  if (segment.startsWith(`${asked}-`)) return PARAMETER_COST
  const letters = misspellingDistance(asked, segment)
  return letters === undefined ? COSTS.remove + COSTS.add : letters / segment.length
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}
