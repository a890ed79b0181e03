import { editDistance, findNearest, misspellingDistance } from '../../lib/text/nearest.ts'

/** Segments by which a path that gets a suggestion may be longer than every template. */
const SURPLUS_MAX = 2
/** Largest distance of a template for each requested segment. */
const DIFFERENCE_MAX = 0.7
/**
 * Removing a requested segment costs more than adding one, because callers omit segments more often than they invent
 * them. A different word costs as much as a removal and an addition: it is no spelling mistake.
 */
const REMOVE = 1.5
const ADD = 0.7

const PARAMETER_COST = 0.1

/**
 * Creates a function that returns the template nearest to a path without an endpoint; undefined if none is near.
 * Strangers may send any path, so each word of it is compared once with each word of the templates, however many have it.
 */
export function createPathSuggester(templates: Iterable<string>): (path: string) => string | undefined {
  const numbers = new Map<string, number>()
  const known = [...templates].map((template) => ({ template, words: toSegments(template).map(getNumber) }))
  const words = [...numbers.keys()]
  const segmentsMax = Math.max(0, ...known.map((each) => each.words.length)) + SURPLUS_MAX

  /** Numbers the words of templates, so that tables of costs have a place for each. */
  function getNumber(word: string): number {
    const number = numbers.get(word) ?? numbers.size
    numbers.set(word, number)
    return number
  }

  return (path) => {
    const segments = toSegments(path)
    if (segments.length === 0 || segments.length > segmentsMax) return undefined
    const distanceMax = segments.length * DIFFERENCE_MAX
    const costs: (readonly number[])[] = []
    // A word that no template has gets a number of its own.
    const requested = segments.map((segment) => {
      const number = numbers.get(segment) ?? words.length + segments.indexOf(segment)
      costs[number] ??= words.map((word) => computeDifference(segment, word))
      return number
    })
    const replace = (from: number, to: number) => costs[from]?.[to] ?? REMOVE + ADD
    const nearest = findNearest(known, (each) => {
      const surplus = requested.length - each.words.length
      if ((surplus > 0 ? surplus * REMOVE : -surplus * ADD) > distanceMax) return undefined
      const distance = editDistance(requested, each.words, { replace, remove: REMOVE, add: ADD, costMax: distanceMax })
      return distance <= distanceMax ? distance : undefined
    })
    return nearest?.template
  }
}

/** Cost of replacing a segment. A parameter, `{id}`, matches any segment, but an equal word is nearer. */
function computeDifference(requested: string, segment: string): number {
  if (segment.startsWith('{')) return PARAMETER_COST
  // The name of a family without its version.
  if (segment.charAt(requested.length) === '-' && segment.startsWith(requested)) return PARAMETER_COST
  const letters = misspellingDistance(requested, segment)
  return letters === undefined ? REMOVE + ADD : letters / segment.length
}

function toSegments(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}
