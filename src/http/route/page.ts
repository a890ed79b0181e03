import type { Pagination } from './route.ts'

interface PageRequest {
  readonly page: number
  readonly limit: number
}

/** Returns the items of one page; a page past the end is empty. */
export function slicePage<Item>(items: readonly Item[], { page, limit }: PageRequest): Item[] {
  return items.slice((page - 1) * limit, page * limit)
}

/**
 * Creates the pagination object of an answer. Links are absolute and keep the caller's other parameters; `override`
 * pins additional ones (a moving list's `to`). A page past the end links back to the last page with items, or to page 1
 * if there are none.
 */
export function createPagination(
  options: PageRequest & {
    readonly total: number
    readonly url: URL
    readonly override?: Readonly<Record<string, string>>
  },
): Pagination {
  const { page, limit, total, url, override = {} } = options
  const last = Math.max(1, Math.ceil(total / limit))
  const link = (to: number) => {
    const target = new URL(url)
    for (const [name, value] of Object.entries({ ...override, page: String(to) })) target.searchParams.set(name, value)
    return target.href
  }
  return {
    page,
    limit,
    total,
    next_page: page < last ? link(page + 1) : null,
    prev_page: page > 1 ? link(Math.min(page - 1, last)) : null,
  }
}
