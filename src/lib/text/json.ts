const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPENING_BRACKET = 91
const CLOSING_BRACKET = 93
const OPENING_BRACE = 123
const CLOSING_BRACE = 125

/**
 * True if JSON text nests at most `levelsMax` deep and holds at most `valuesMax` elements and members (no limit if
 * absent), as counted by its commas. It does not check that the text is JSON. One pass before `JSON.parse`, which takes
 * far longer over brackets and small values than over strings of the same length.
 */
export function isWithinJsonLimits(
  text: string,
  { levelsMax, valuesMax = Number.POSITIVE_INFINITY }: { readonly levelsMax: number; readonly valuesMax?: number },
): boolean {
  let levels = 0
  let values = 1
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = stringEnd(text, at)
      // An unfinished string holds the rest of the text.
      if (at === -1) return true
    } else if (code === OPENING_BRACKET || code === OPENING_BRACE) {
      levels += 1
      if (levels > levelsMax) return false
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      levels -= 1
    } else if (code === COMMA) {
      values += 1
      if (values > valuesMax) return false
    }
  }
  return true
}

/**
 * Where a JSON value has text with NUL or half a character, as in `wallets[0]`; undefined if it has none. Names of members
 * are text, too.
 */
export function findInvalidText(value: unknown, place = ''): string | undefined {
  if (typeof value === 'string') return BROKEN.test(value) ? place : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, each] of Object.entries(value)) {
    const at = place === '' ? name : `${place}[${name}]`
    const broken = BROKEN.test(name) ? at : findInvalidText(each, at)
    if (broken !== undefined) return broken
  }
  return undefined
}

const BROKEN = /[\0\p{Surrogate}]/u

/** Index of the quote that closes the string opened at `start`; -1 if there is none. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

/** A quote is escaped by an odd number of backslashes before it. */
function isEscaped(text: string, quote: number): boolean {
  let first = quote
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (quote - first) % 2 === 1
}
