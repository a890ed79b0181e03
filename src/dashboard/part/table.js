import { useOverflow } from '../lib/hooks.js'
import { pluralize } from '../lib/time.js'
import { html, useLayoutEffect } from '../lib/view.js'
import { LoadedAnswer } from './notice.js'

/**
 * Rows below the names of their columns; on a phone the cells of a row stand below each other, each beside the name of
 * its column. It scrolls sideways if it must.
 * @param {{ label: string, columns: readonly unknown[], class?: string, children: unknown }} props `columns`: names, or cells as they are
 */
export function Table({ label, columns, children, ...rest }) {
  const [ref, isCut] = useOverflow()
  useLayoutEffect(() => nameCells(ref.current?.querySelectorAll('tr') ?? []))
  return html`<div class="scroll" ref=${ref} tabindex=${isCut ? 0 : undefined} role="group" aria-label=${label}><table class=${rest.class}>
    <thead><tr>${columns.map((name) => (typeof name === 'string' ? html`<th scope="col">${name}</th>` : name))}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`
}

/** Tells each cell the name of its column, which stands beside it on a phone. @param {Iterable<HTMLTableRowElement>} rows the first one has the names */
function nameCells([head, ...rows]) {
  for (const { cells } of rows) {
    for (const [index, cell] of [...cells].entries()) cell.dataset.name = head?.cells[index]?.textContent ?? ''
  }
}

/** Name of a column of names, which begin below each other. @param {string} name */
export function nameColumn(name) {
  return html`<th scope="col" class="left">${name}</th>`
}

/** Name of a column of words, which wrap. @param {string} name */
export function textColumn(name) {
  return html`<th scope="col" class="words">${name}</th>`
}

/** Column of buttons, which needs no name to be seen. */
export const ACTIONS_COLUMN = html`<th scope="col"><span class="visually-hidden">What to do</span></th>`

/**
 * @template Row
 * @typedef {{ data: readonly Row[], pagination: { page: number, limit: number, total: number } }} Page
 */

/**
 * A page of a list as a table, and the way to its other pages; `empty` if there are none. Its child draws a row, further
 * properties are the table's.
 * @template Row
 * @param {{ asked: import('../lib/hooks.js').Asked, waiting: string, empty: unknown, noun: string, onPage: (page: number) => void, children: (row: Row) => unknown, [name: string]: unknown }} props
 */
export function PagedTable({ asked, waiting, empty, noun, onPage, children: row, ...table }) {
  return html`<${LoadedAnswer} asked=${asked} waiting=${waiting}>${drawn}<//>`

  /** @param {Page<Row>} page */
  function drawn({ data, pagination }) {
    if (data.length === 0) return empty
    return html`<${Table} ...${table}>${data.map((each) => row(each))}<//><${Pager} pagination=${pagination} noun=${noun} onPage=${onPage} />`
  }
}

/** @param {{ pagination: { page: number, limit: number, total: number }, noun: string, onPage: (page: number) => void }} props */
function Pager({ pagination: { page, limit, total }, noun, onPage }) {
  const pages = Math.max(1, Math.ceil(total / limit))
  return html`<div class="pager">
    <span class="soft">${pluralize(total, noun)}${pages > 1 && `, page ${page} of ${pages.toLocaleString('en')}`}</span>
    ${
      pages > 1 &&
      html`<button type="button" class="small" disabled=${page <= 1} onClick=${() => onPage(page - 1)}>Newer</button>
      <button type="button" class="small" disabled=${page >= pages} onClick=${() => onPage(page + 1)}>Older</button>`
    }
  </div>`
}
