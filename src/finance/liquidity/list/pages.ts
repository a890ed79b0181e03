import type { LensPage, LensPages } from '../../../chain/call/pages.ts'

/** A page of a reading: tokens and pools are places in lists that every page begins anew. */
interface NumberedPage extends LensPage {
  readonly tokens: readonly unknown[]
  readonly pools: readonly { readonly token0: number; readonly token1: number }[]
  readonly positions: readonly { readonly pool: number }[]
  readonly broken: readonly unknown[]
}

/** Joins pages of the same block into one reading, in their order: places shift by the pages before. */
export function joinPages<Page extends NumberedPage>(placed: LensPages<Page>): Page {
  const [{ page: first }] = placed
  if (placed.length === 1) return first
  const tokens: Page['tokens'][number][] = []
  const pools: Page['pools'][number][] = []
  const positions: Page['positions'][number][] = []
  for (const { page } of placed) {
    const [tokensBefore, poolsBefore] = [tokens.length, pools.length]
    const moved = (token: number): number => token + tokensBefore
    tokens.push(...page.tokens)
    pools.push(...page.pools.map((each) => ({ ...each, token0: moved(each.token0), token1: moved(each.token1) })))
    positions.push(...page.positions.map((each) => ({ ...each, pool: each.pool + poolsBefore })))
  }
  const broken = placed.flatMap(({ page }) => page.broken)
  const taken = placed.reduce((sum, { page }) => sum + page.taken, 0)
  return { ...first, tokens, pools, positions, broken, taken }
}
