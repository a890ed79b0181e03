/**
 * Characters that are invisible although Unicode counts them as letters or symbols: blanks of braille, hieroglyphs and
 * music, and the object replacement character.
 */
const BLANKS = '\\u2800\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}'

/**
 * Characters that are invisible by their Unicode properties: controls, formatting, private and unassigned ones (C),
 * separators of lines and paragraphs (Zl, Zp), and those that fonts must omit (Default_Ignorable_Code_Point: joiners,
 * fillers, variation selectors, tags).
 */
const INVISIBLE = new RegExp(`[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}${BLANKS}]`, 'gu')
const SPACE = /\s/u
const MARK = /\p{M}/u
/** Accents for letters of any script; Unicode sets no limit to stacking them. */
const ACCENT = /\p{Script=Inherited}/u
/** Most marks that any script puts on one letter: Tibetan and pointed Hebrew have four, Vietnamese has two accents. */
const MARKS_MAX = 4
export const ACCENTS_MAX = 2

/**
 * Makes untrusted text fit for display in one line: at most `max` code points, all of them visible; letters in one form
 * (NFKC), so that full-width and mathematical ones become plain; single spaces; few marks on a letter.
 */
export function toDisplayText(text: string, max: number): string {
  const shown: string[] = []
  // Drop marks without a letter before them, and leading spaces.
  let [marks, accents] = [MARKS_MAX, ACCENTS_MAX]
  for (const letter of removeInvisible(text)) {
    if (shown.length === max) break
    if (MARK.test(letter)) {
      marks++
      if (ACCENT.test(letter)) accents++
      if (marks <= MARKS_MAX && accents <= ACCENTS_MAX) shown.push(letter)
    } else if (SPACE.test(letter)) {
      if (shown.length > 0 && shown.at(-1) !== ' ') shown.push(' ')
      ;[marks, accents] = [MARKS_MAX, ACCENTS_MAX]
    } else {
      shown.push(letter)
      ;[marks, accents] = [0, 0]
    }
  }
  return shown.join('').trimEnd()
}

/** True if a text has invisible characters, apart from the selector that makes a character an emoji. */
export function hasInvisible(text: string): boolean {
  return text.replaceAll('\ufe0f', '').search(INVISIBLE) >= 0
}

/** Removes invisible characters. Normalizes twice, because a removed character may have kept its neighbours apart. */
function removeInvisible(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').normalize('NFKC')
}

/**
 * Characters that a terminal obeys or does not show: controls (C0, DEL, C1), formatting (bidi and zero-width ones),
 * private and unassigned ones, and separators of lines and paragraphs.
 */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu

/** Escapes a text for one line of a terminal: what is not seen becomes `\u001b`, as JSON writes it. */
export function escapeLine(text: string): string {
  return text.replace(UNSEEN, escapeUnits)
}

/** Escapes the lines of a text. JSON stays the same JSON. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeLine).join('\n')
}

function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
}
