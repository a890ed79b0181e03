import { zeroAddress } from 'viem'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { OmittedPositions } from '../../family/holding.ts'
import { noPriceBecause } from '../../finance/price/price.ts'
import type { HeldAsset, RowKind } from './row.ts'

const SYSTEM_PROGRAM = '1'.repeat(32)

/** What is beyond the maximum; without a family, accounts of tokens in the wallet itself. */
interface Omitted extends Pick<OmittedPositions, 'count'> {
  readonly family?: string
  readonly kind: RowKind
  readonly max: number
}

/**
 * Counts what is beyond the maximum as one asset without an amount that refuses itself, and as an item of a list: others
 * can give a wallet any number of positions and tokens, which must not cost it its sum.
 */
export function countDust(chainId: number, omitted: readonly Omitted[]): { assets: HeldAsset[]; omitted: string[] } {
  const assets = omitted.map(({ family, kind, count, max }): HeldAsset => {
    const what = family === undefined ? 'token accounts' : `positions of ${family}`
    const detail = `${count} more ${what}: a sum has the first ${max} on a chain`
    return {
      chainId,
      kind,
      token: {
        address: chainId === SOLANA_CHAIN_ID ? SYSTEM_PROGRAM : zeroAddress,
        symbol: '',
        name: '',
        decimals: undefined,
      },
      amount: 0n,
      price: noPriceBecause('it was not read'),
      isUnlisted: false,
      refused: { reason: 'dust', detail },
      position: family === undefined ? null : { family },
    }
  })
  const words = omitted.map(({ family, count }) => {
    return `${count} more ${family === undefined ? 'token accounts' : `positions of ${family}`} on chain ${chainId}`
  })
  return { assets, omitted: words }
}
