/** A page of a list. */
interface Page {
  readonly page: number
  readonly limit: number
}

/**
 * Rows of a page, and how many the list has. Each row tells that number; a page past the end has none, so the first row
 * is asked for.
 */
export async function readCountedPage<Row extends { readonly total: string }>(
  { page, limit }: Page,
  read: (part: { readonly max: number; readonly skip: number }) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const rows = await read({ max: limit, skip: (page - 1) * limit })
  const [row] = rows.length > 0 || page === 1 ? rows : await read({ max: 1, skip: 0 })
  return { rows, total: Number(row?.total ?? 0) }
}
