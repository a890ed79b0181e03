import { useOverflow } from '../lib/hooks.js'
import { pluralize } from '../lib/time.js'
import { classes, html, useEffect, useLayoutEffect } from '../lib/view.js'
import { LoadedAnswer, LoadingNotice } from './notice.js'

/**
 * Table. On a phone, the cells of a row stack vertically, each beside the name of its column. Scrolls sideways on overflow.
 * @param {{ label: string, columns: readonly unknown[], class?: string, children: unknown }} props `columns`: names, or header cells
 */
export function Table({ label, columns, children, ...rest }) {
  const [ref, isCut] = useOverflow()
  useLayoutEffect(() => nameCells(ref.current?.querySelectorAll('tr') ?? []))
  return html`<div class="scroll" ref=${ref} tabindex=${isCut ? 0 : undefined} role="group" aria-label=${label}><table class=${rest.class}>
    <thead><tr>${columns.map((name) => (typeof name === 'string' ? html`<th scope="col">${name}</th>` : name))}</tr></thead>
    <tbody>${children}</tbody>
  </table></div>`
}

/** Stores in each cell the name of its column, shown on phones. @param {Iterable<HTMLTableRowElement>} rows header row first */
function nameCells([head, ...rows]) {
  for (const { cells } of rows) {
    for (const [index, cell] of [...cells].entries()) cell.dataset.name = head?.cells[index]?.textContent ?? ''
  }
}

/** Header of a left-aligned column. @param {string} name */
export function nameColumn(name) {
  return html`<th scope="col" class="left">${name}</th>`
}

/** Header of a column of wrapping text. @param {string} name */
export function textColumn(name) {
  return html`<th scope="col" class="words">${name}</th>`
}

/** Header of a column of buttons, for screen readers only. */
export const ACTIONS_COLUMN = html`<th scope="col"><span class="visually-hidden">Actions</span></th>`

/**
 * @template Row
 * @typedef {{ data: readonly Row[], pagination: { page: number, limit: number, total: number } }} Page
 */

/**
 * One page of a list as a table, with buttons to the other pages; `empty` if the list has no rows. A page that has lost its
 * rows gives way to the last one. While another page is read, the rows of the earlier one are dimmed. The child draws a
 * row; additional properties go to the table.
 * @template Row
 * @param {{ request: import('../lib/hooks.js').RequestState, waiting: string, empty: unknown, noun: string, onPage: (page: number) => void, children: (row: Row) => unknown, [name: string]: unknown }} props
 */
export function PagedTable({ request, waiting, empty, noun, isOldestFirst = false, onPage, children: row, ...table }) {
  const isEarlier = request.answer === undefined && request.earlier !== undefined
  const shown = isEarlier ? { ...request, answer: request.earlier } : request
  const page = request.answer?.ok ? /** @type {Page<Row>} */ (request.answer.body) : undefined
  const pageWithRows = page && findPageWithRows(page)
  useEffect(() => {
    if (pageWithRows !== undefined) onPage(pageWithRows)
  }, [pageWithRows])
  return html`<div class=${classes(isEarlier && 'earlier')} aria-busy=${isEarlier}><${LoadedAnswer} request=${shown} waiting=${waiting}>${draw}<//></div>`

  /** @param {Page<Row>} page */
  function draw({ data, pagination }) {
    if (data.length === 0 && pagination.total === 0 && !isEarlier) return empty
    const rows =
      data.length === 0
        ? html`<${LoadingNotice}>${waiting}<//>`
        : html`<${Table} ...${table}>${data.map((each) => row(each))}<//>`
    return html`${rows}<${Pager} pagination=${pagination} noun=${noun} isOldestFirst=${isOldestFirst} onPage=${onPage} />`
  }
}

/**
 * Returns the last page of a list if the shown one has no rows, although the list has: its rows were deleted or are too old.
 * @param {Page<unknown>} page
 */
export function findPageWithRows({ data, pagination: { page, limit, total } }) {
  const last = Math.ceil(total / limit)
  return data.length === 0 && total > 0 && last !== page ? last : undefined
}

/** Returns the names of the buttons to the page before and to the page after. @param {boolean} isOldestFirst */
export function namePageSteps(isOldestFirst) {
  return isOldestFirst ? ['Older', 'Newer'] : ['Newer', 'Older']
}

/** @param {{ pagination: { page: number, limit: number, total: number }, noun: string, isOldestFirst: boolean, onPage: (page: number) => void }} props */
function Pager({ pagination: { page, limit, total }, noun, isOldestFirst, onPage }) {
  const pages = Math.max(1, Math.ceil(total / limit))
  const [before, after] = namePageSteps(isOldestFirst)
  return html`<div class="pager">
    <span class="soft">${pluralize(total, noun)}${pages > 1 && `, page ${page} of ${pages.toLocaleString('en')}`}</span>
    ${
      pages > 1 &&
      html`<button type="button" class="small" disabled=${page <= 1} onClick=${() => onPage(page - 1)}>${before}</button>
      <button type="button" class="small" disabled=${page >= pages} onClick=${() => onPage(page + 1)}>${after}</button>`
    }
  </div>`
}
