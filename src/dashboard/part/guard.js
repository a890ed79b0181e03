import { html, useErrorBoundary } from '../lib/view.js'

/** Part of a page. If it cannot be drawn, it says so, and the rest of the page stays. @param {{ children: unknown }} props */
export function Guard({ children }) {
  const [error] = useErrorBoundary()
  if (error === undefined) return children
  return html`<div class="notice trouble" role="alert">
    <p class="notice-title">This cannot be drawn</p>
    <p>The page may be older or newer than the service: reload it. No figure of this part is shown.</p>
    <p class="notice-end"><code>${String(error)}</code></p>
  </div>`
}
