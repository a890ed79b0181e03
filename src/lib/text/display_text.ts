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
