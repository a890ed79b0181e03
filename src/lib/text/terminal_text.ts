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
