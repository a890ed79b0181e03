/**
 * Characters that nobody sees although they count as letters: blanks of braille, hieroglyphs and music, and a place for
 * an object.
 */
const BLANKS = '\\u2800\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}'

/**
 * Characters that nobody sees, as Unicode says it: controls, formatting, private and unassigned ones (C), separators of
 * lines and paragraphs (Zl, Zp), and whatever fonts must leave out (Default_Ignorable_Code_Point: joiners, fillers,
 * variation selectors, tags).
 */
const UNSEEN = new RegExp(`[\\p{C}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}${BLANKS}]`, 'gu')
const SPACE = /\s/u
const MARK = /\p{M}/u
/** Accents for letters of any script, which can be stacked without end. */
const ACCENT = /\p{Script=Inherited}/u
/** No script writes more on one letter: Tibetan and pointed Hebrew have four, Vietnamese two accents. */
const MARKS_MAX = 4
export const ACCENTS_MAX = 2

/**
 * What strangers wrote, fit to be shown in a line: at most `max` code points, every one of them to be seen; letters in
 * one form (NFKC), so that full-width and mathematical ones are plain; single spaces; few marks on a letter.
 */
export function toDisplayText(text: string, max: number): string {
  const shown: string[] = []
  // A mark without a letter before it is left out, as is a space.
  let [marks, accents] = [MARKS_MAX, ACCENTS_MAX]
  for (const letter of withoutUnseen(text)) {
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

/** True if a text has something that nobody sees, apart from what makes a character an emoji. */
export function hasInvisible(text: string): boolean {
  return text.replaceAll('\ufe0f', '').search(UNSEEN) >= 0
}

/** Twice in one form: what stood between two characters may have kept them from becoming one. */
function withoutUnseen(text: string): string {
  return text.normalize('NFKC').replace(UNSEEN, '').normalize('NFKC')
}
