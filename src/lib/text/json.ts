const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPENING_BRACKET = 91
const CLOSING_BRACKET = 93
const OPENING_BRACE = 123
const CLOSING_BRACE = 125

/**
 * True if JSON text nests at most `levelsMax` deep and holds at most `valuesMax` elements and members (no limit if
 * absent), counted by commas. It does not check that the text is JSON. Runs in one pass before `JSON.parse`, which
 * takes far longer for brackets and small values than for strings of the same length.
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
      at = findStringEnd(text, at)
      // An unterminated string extends to the end of the text.
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

/** True for a JSON object: neither a list nor null. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Path, such as `wallets[0]`, of the first text with NUL or a lone surrogate in a JSON value; undefined if there is
 * none. Names of members are checked too.
 */
export function findInvalidText(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return INVALID_TEXT.test(value) ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const memberPath = path === '' ? name : `${path}[${name}]`
    const invalidPath = INVALID_TEXT.test(name) ? memberPath : findInvalidText(member, memberPath)
    if (invalidPath !== undefined) return invalidPath
  }
  return undefined
}

const INVALID_TEXT = /[\0\p{Surrogate}]/u

/** Index of the quote that closes the string opened at `start`; -1 without one. */
function findStringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end
}

/** True if an odd number of backslashes precedes the quote. */
function isEscaped(text: string, quote: number): boolean {
  let first = quote
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (quote - first) % 2 === 1
}
