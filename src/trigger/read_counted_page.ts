/** The number and size of a page. */
interface Page {
  readonly page: number
  readonly limit: number
}

/**
 * Reads the rows of a page and the total of the list. Each row carries the total; for a page past the end, the first
 * row of the list is read for it.
 */
export async function readCountedPage<Row extends { readonly total: string }>(
  { page, limit }: Page,
  read: (part: { readonly max: number; readonly skip: number }) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const rows = await read({ max: limit, skip: (page - 1) * limit })
  const [row] = rows.length > 0 || page === 1 ? rows : await read({ max: 1, skip: 0 })
  return { rows, total: Number(row?.total ?? 0) }
}
