import htm from 'htm'
import { h } from 'preact'

export { render } from 'preact'
export { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Template tag for markup. Values become text, attributes and handlers; they are never parsed. */
export const html = htm.bind(h)

/**
 * Joins the words of a class attribute, without falsy ones.
 * @param {...(string | false | null | undefined)} words
 */
export function classes(...words) {
  return words.filter(Boolean).join(' ')
}
