import type { LensPage, LensPages } from '../../../chain/call/pages.ts'

/** A page of a read: tokens and pools are indexes of lists that start anew on every page. */
interface NumberedPage extends LensPage {
  readonly tokens: readonly unknown[]
  readonly pools: readonly { readonly token0: number; readonly token1: number }[]
  readonly positions: readonly { readonly pool: number; readonly rewards?: readonly { readonly token: number }[] }[]
  readonly broken: readonly unknown[]
}

/** Joins pages of the same block into one read, in their order; indexes shift by the lengths of the pages before. */
export function joinPages<Page extends NumberedPage>(pages: LensPages<Page>): Page {
  const [{ page: first }] = pages
  if (pages.length === 1) return first
  const tokens: Page['tokens'][number][] = []
  const pools: Page['pools'][number][] = []
  const positions: Page['positions'][number][] = []
  for (const { page } of pages) {
    const [tokensBefore, poolsBefore] = [tokens.length, pools.length]
    const shift = (token: number): number => token + tokensBefore
    tokens.push(...page.tokens)
    pools.push(...page.pools.map((each) => ({ ...each, token0: shift(each.token0), token1: shift(each.token1) })))
    positions.push(
      ...page.positions.map((each) => {
        const rewards = each.rewards?.map((reward) => ({ ...reward, token: shift(reward.token) }))
        return { ...each, pool: each.pool + poolsBefore, ...(rewards && { rewards }) }
      }),
    )
  }
  const broken = pages.flatMap(({ page }) => page.broken)
  const taken = pages.reduce((sum, { page }) => sum + page.taken, 0)
  return { ...first, tokens, pools, positions, broken, taken }
}
