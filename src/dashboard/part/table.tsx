import type { ComponentChildren, VNode } from 'preact'
import type { RequestState } from '../lib/hooks.ts'
import { useOverflow } from '../lib/hooks.ts'
import { pluralize } from '../lib/time.ts'
import { classes, useEffect, useLayoutEffect } from '../lib/view.ts'
import { LoadedAnswer, LoadingNotice } from './notice.tsx'

/** Name of a column, or its header cell. */
type Column = string | VNode

interface TableProps {
  readonly label: string
  readonly columns: readonly Column[]
  readonly class?: string
  readonly children: ComponentChildren
}

/**
 * Table. On a phone, the cells of a row stack vertically, each beside the name of its column. Scrolls sideways on
 * overflow.
 */
export function Table({ label, columns, children, ...rest }: TableProps) {
  const [ref, isCut] = useOverflow()
  useLayoutEffect(() => nameCells(ref.current?.querySelectorAll('tr') ?? []))
  return (
    <div class="scroll" ref={ref} tabindex={isCut ? 0 : undefined} role="group" aria-label={label}>
      <table class={rest.class}>
        <thead>
          <tr>{columns.map((name) => (typeof name === 'string' ? <th scope="col">{name}</th> : name))}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** Stores in each cell the name of its column, shown on phones. `rows`: header row first. */
function nameCells([head, ...rows]: Iterable<HTMLTableRowElement>) {
  for (const { cells } of rows) {
    for (const [index, cell] of [...cells].entries()) cell.dataset['name'] = head?.cells[index]?.textContent ?? ''
  }
}

/** Header of a left-aligned column. */
export function nameColumn(name: string) {
  return (
    <th scope="col" class="left">
      {name}
    </th>
  )
}

/** Header of a column of wrapping text. */
export function textColumn(name: string) {
  return (
    <th scope="col" class="words">
      {name}
    </th>
  )
}

/** Header of a column of buttons, for screen readers only. */
export const ACTIONS_COLUMN = (
  <th scope="col">
    <span class="visually-hidden">Actions</span>
  </th>
)

interface Pagination {
  readonly page: number
  readonly limit: number
  readonly total: number
}

interface Page<Row> {
  readonly data: readonly Row[]
  readonly pagination: Pagination
}

interface PagedTableProps<Row> extends Omit<TableProps, 'children'> {
  readonly request: RequestState<Page<Row>>
  readonly waiting: string
  readonly empty: ComponentChildren
  readonly noun: string
  readonly isOldestFirst?: boolean
  readonly onPage: (page: number) => void
  readonly children: (row: Row) => ComponentChildren
}

/**
 * One page of a list as a table, with buttons to the other pages; `empty` if the list has no rows. A page that has lost its
 * rows gives way to the last one. While another page is read, the rows of the earlier one are dimmed. The child draws a
 * row; additional properties go to the table.
 */
export function PagedTable<Row>({
  request,
  waiting,
  empty,
  noun,
  isOldestFirst = false,
  onPage,
  children: row,
  ...table
}: PagedTableProps<Row>) {
  const isEarlier = request.answer === undefined && request.earlier !== undefined
  const shown = isEarlier ? { ...request, answer: request.earlier } : request
  const page = request.answer?.ok ? request.answer.body : undefined
  const pageWithRows = page && findPageWithRows(page)
  useEffect(() => {
    if (pageWithRows !== undefined) onPage(pageWithRows)
  }, [pageWithRows])
  return (
    <div class={classes(isEarlier && 'earlier')} aria-busy={isEarlier}>
      <LoadedAnswer request={shown} waiting={waiting}>
        {draw}
      </LoadedAnswer>
    </div>
  )

  function draw({ data, pagination }: Page<Row>) {
    if (data.length === 0 && pagination.total === 0 && !isEarlier) return empty
    const rows =
      data.length === 0 ? (
        <LoadingNotice>{waiting}</LoadingNotice>
      ) : (
        <Table {...table}>{data.map((each) => row(each))}</Table>
      )
    return (
      <>
        {rows}
        <Pager pagination={pagination} noun={noun} isOldestFirst={isOldestFirst} onPage={onPage} />
      </>
    )
  }
}

/**
 * Returns the last page of a list if the shown one has no rows, although the list has: its rows were deleted or are too old.
 */
export function findPageWithRows({ data, pagination: { page, limit, total } }: Page<unknown>) {
  const last = Math.ceil(total / limit)
  return data.length === 0 && total > 0 && last !== page ? last : undefined
}

/** Returns the names of the buttons to the page before and to the page after. */
export function namePageSteps(isOldestFirst: boolean): [string, string] {
  return isOldestFirst ? ['Older', 'Newer'] : ['Newer', 'Older']
}

interface PagerProps {
  readonly pagination: Pagination
  readonly noun: string
  readonly isOldestFirst: boolean
  readonly onPage: (page: number) => void
}

function Pager({ pagination: { page, limit, total }, noun, isOldestFirst, onPage }: PagerProps) {
  const pages = Math.max(1, Math.ceil(total / limit))
  const [before, after] = namePageSteps(isOldestFirst)
  return (
    <div class="pager">
      <span class="soft">
        {pluralize(total, noun)}
        {pages > 1 && `, page ${page} of ${pages.toLocaleString('en')}`}
      </span>
      {pages > 1 && (
        <>
          <button type="button" class="small" disabled={page <= 1} onClick={() => onPage(page - 1)}>
            {before}
          </button>
          <button type="button" class="small" disabled={page >= pages} onClick={() => onPage(page + 1)}>
            {after}
          </button>
        </>
      )}
    </div>
  )
}
