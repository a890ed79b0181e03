import htm from 'htm'
import { h } from 'preact'

export { render } from 'preact'
export { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** A piece of a page: markup whose values are set as text, attributes and handlers, never parsed. */
export const html = htm.bind(h)

/**
 * Words of a class attribute, without those that are off.
 * @param {...(string | false | null | undefined)} words
 */
export function classes(...words) {
  return words.filter(Boolean).join(' ')
}
