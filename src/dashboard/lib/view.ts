import { type ComponentChild, render } from 'preact'

export { useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

/** Joins the words of a class attribute, without falsy ones. */
export function classes(...words: (string | false | null | undefined)[]) {
  return words.filter(Boolean).join(' ')
}

/** Draws a page in place of the words that stand there until its script has come. */
export function drawPage(page: ComponentChild) {
  const app = document.getElementById('app') as HTMLElement
  app.replaceChildren()
  render(page, app)
}
