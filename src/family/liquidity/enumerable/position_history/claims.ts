import type { WalletEvent } from '../../position_history/custody_event.ts'

/** What a wallet was paid in one block, and the positions that it may have been paid for. */
export interface ClaimBlock {
  readonly block: number
  readonly claims: readonly WalletEvent[]
  /** Those that the custodian held when the block began: others earned nothing yet. */
  readonly tokenIds: readonly bigint[]
  /** What each position forfeited, smallest units. */
  readonly forfeited: ReadonlyMap<bigint, bigint>
}

/** What a position was due in a block, less what it forfeited. */
export interface Due {
  readonly tokenId: bigint
  readonly amount: bigint
}

/**
 * Lists the blocks with payments in a wallet's events, oldest first; `before`: positions that it had at the custodian
 * before the first event.
 */
export function listClaimBlocks(rows: readonly WalletEvent[], before: readonly bigint[]): readonly ClaimBlock[] {
  const held = new Set(before)
  const blocks: ClaimBlock[] = []
  for (let start = 0; start < rows.length; ) {
    const block = rows[start]?.block ?? 0
    let end = start
    while (rows[end]?.block === block) end++
    const some = rows.slice(start, end)
    const claims = some.filter(({ kind, amount }) => kind === 'reward' && amount > 0n)
    const forfeited = new Map<bigint, bigint>()
    for (const { tokenId, kind, amount } of some) {
      if (kind === 'update' && tokenId !== undefined) forfeited.set(tokenId, (forfeited.get(tokenId) ?? 0n) + amount)
    }
    if (claims.length > 0) blocks.push({ block, claims, tokenIds: [...held], forfeited })
    for (const { tokenId, kind } of some) {
      if (tokenId === undefined) continue
      if (kind === 'stake') held.add(tokenId)
      else if (kind === 'unstake') held.delete(tokenId)
    }
    start = end
  }
  return blocks
}

/**
 * Finds the payments of a position among those of its wallet in a block. Each payment must be what one position was due,
 * to the unit, and each due must be paid; undefined if they are not.
 */
export function matchClaims(
  claims: readonly WalletEvent[],
  dues: readonly Due[],
  tokenId: bigint,
): readonly WalletEvent[] | undefined {
  const open = dues.filter(({ amount }) => amount !== 0n)
  const own: WalletEvent[] = []
  for (const claim of claims) {
    const index = open.findIndex(({ amount }) => amount === claim.amount)
    const [due] = index < 0 ? [] : open.splice(index, 1)
    if (due === undefined) return undefined
    if (due.tokenId === tokenId) own.push(claim)
  }
  return open.length === 0 ? own : undefined
}
