/** Some of a reading: tokens and pools are places in lists that every page begins anew. */
interface Numbered<Token, Pool, Position> {
  readonly tokens: readonly Token[]
  readonly pools: readonly Pool[]
  readonly positions: readonly Position[]
}

/** Joins pages of one reading, in their order: places shift by the pages before. */
export function joinPages<
  Token,
  Pool extends { readonly token0: number; readonly token1: number },
  Position extends { readonly pool: number },
>(pages: readonly Numbered<Token, Pool, Position>[]) {
  const tokens: Token[] = []
  const pools: Pool[] = []
  const positions: Position[] = []
  for (const page of pages) {
    const [tokensBefore, poolsBefore] = [tokens.length, pools.length]
    const moved = (token: number): number => token + tokensBefore
    tokens.push(...page.tokens)
    pools.push(...page.pools.map((each) => ({ ...each, token0: moved(each.token0), token1: moved(each.token1) })))
    positions.push(...page.positions.map((each) => ({ ...each, pool: each.pool + poolsBefore })))
  }
  return { tokens, pools, positions }
}
