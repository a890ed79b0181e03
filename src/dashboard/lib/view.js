import htm from 'htm'
import { h, render } from 'preact'

export { useEffect, useErrorBoundary, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Template tag for markup. Values become text, attributes and handlers; they are never parsed. */
export const html = htm.bind(h)

/**
 * Joins the words of a class attribute, without falsy ones.
 * @param {...(string | false | null | undefined)} words
 */
export function classes(...words) {
  return words.filter(Boolean).join(' ')
}

/** Draws a page in place of the words that stand there until its script has come. @param {import('preact').ComponentChild} page */
export function drawPage(page) {
  const app = /** @type {HTMLElement} */ (document.getElementById('app'))
  app.replaceChildren()
  render(page, app)
}
