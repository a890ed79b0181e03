import { keepFocus } from '../lib/focus.js'
import { classes, html, useEffect } from '../lib/view.js'
import { Guard } from './guard.js'
import { NewSecrets } from './new_secrets.js'

/** @type {readonly (readonly [string, string])[]} */
const PAGES = [
  ['Explore', './'],
  ['Usage', 'usage'],
  ['API', 'docs'],
  ['Formulas', 'formulas'],
]

/**
 * Frame of every page: header, navigation, main content.
 * @param {{ page: string, aside?: unknown, pages?: readonly (readonly [string, string])[], children: unknown }} props
 */
export function Shell({ page, aside, pages = PAGES, children }) {
  useEffect(() => keepFocus(document.body), [])
  return html`
    <a class="skip" href="#content" onClick=${focusContent}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href=${pages[0]?.[1]} aria-label="walletscope">
        <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="10.5" cy="10.5" r="6.5" /><path d="M15.4 15.4 21 21M7.5 11.5l2-2.2 2 1.6 2.2-3" /></svg>
        <span>walletscope</span>
      </a>
      <nav aria-label="Pages">
        ${pages.map(
          ([name, target]) =>
            html`<a href=${target} class=${classes(name === page && 'here')} aria-current=${name === page ? 'page' : undefined}>${name}</a>`,
        )}
      </nav>
      <div class="bar-aside">${aside}</div>
    </header>
    <main id="content" tabindex="-1"><${NewSecrets} /><${Guard}>${children}<//></main>
  `
}

/** Focuses the content without changing the fragment, which holds the view. @param {Event} event */
function focusContent(event) {
  event.preventDefault()
  document.getElementById('content')?.focus()
}
