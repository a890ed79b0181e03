import { counted } from '../lib/time.js'
import { html } from '../lib/view.js'

/**
 * Which page of a list is shown, and the way to the others.
 * @param {{ pagination: { page: number, limit: number, total: number }, noun: string, plural?: string, onPage: (page: number) => void }} props
 */
export function Pager({ pagination: { page, limit, total }, noun, plural, onPage }) {
  const pages = Math.max(1, Math.ceil(total / limit))
  return html`<div class="pager">
    <span class="soft">${counted(total, noun, plural)}${pages > 1 && `, page ${page} of ${pages.toLocaleString('en')}`}</span>
    ${
      pages > 1 &&
      html`<button type="button" class="small" disabled=${page <= 1} onClick=${() => onPage(page - 1)}>Newer</button>
      <button type="button" class="small" disabled=${page >= pages} onClick=${() => onPage(page + 1)}>Older</button>`
    }
  </div>`
}
