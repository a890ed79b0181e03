import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { computeUsdPrice, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { type Token, toToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { RawHolding, RawVault } from '../math.ts'
import type { ListedVault } from '../table.ts'
import { type HoldingsQuery, listVaults } from './abi.ts'

/** What a wallet has in one vault, with all inputs of its figures. */
interface VaultPosition extends Omit<RawHolding, 'wallet' | 'vault'> {
  readonly chainId: number
  readonly wallet: Address
  readonly listed: ListedVault
  /** The vault's own state. */
  readonly vault: RawVault
  /** The vault's token. */
  readonly share: Token
  readonly asset: Token & { readonly price: UsdPriceOutcome }
  /** Time of the block, Unix seconds. */
  readonly timestampSec: bigint
}

/** A vault that does not answer about a wallet. */
interface SilentVault {
  readonly chainId: number
  readonly wallet: Address
  readonly listed: ListedVault
}

/** The interpreted reading of one chain; by wallet, then in the order of the vaults. */
export interface VaultsRead {
  readonly block: Block
  readonly positions: readonly VaultPosition[]
  readonly silent: readonly SilentVault[]
}

/** A reading, over all its pages; wallets are counted from the first of the query. */
export interface RawRead {
  readonly block: Block
  readonly vaults: readonly RawVault[]
  readonly holdings: readonly RawHolding[]
  readonly silent: readonly Pick<RawHolding, 'wallet' | 'vault'>[]
}

/** Interprets a reading. Throws `UpstreamError` if it contradicts itself. */
export function interpret(
  read: RawRead,
  {
    chain,
    entries,
    wallets,
  }: Omit<HoldingsQuery, 'wallets'> & { readonly chain: FinanceChain; readonly wallets: readonly Address[] },
): VaultsRead {
  const { block } = read
  const listed = listVaults(entries).map(({ address, kind }) => ({
    address,
    // A factory made it.
    kind: kind === 'named' ? ('erc4626' as const) : kind,
  }))
  const states = new Map(
    read.vaults.map((vault) => {
      const outcome = computeUsdPrice(vault.asset.address, {
        chain,
        answers: vault.usd,
        blockTimestampSec: block.timestampSec,
      })
      return [
        vault.vault,
        {
          vault,
          listed: requireAsked(listed[vault.vault]),
          share: toToken(vault.share),
          asset: { ...toToken(vault.asset), price: outcome },
        },
      ] as const
    }),
  )
  const toPlace = ({ wallet }: Pick<RawHolding, 'wallet'>) => ({
    chainId: block.chainId,
    wallet: requireAsked(wallets[wallet]),
  })
  return {
    block,
    positions: read.holdings.map((holding) => ({
      ...holding,
      ...toPlace(holding),
      ...requireAsked(states.get(holding.vault)),
      timestampSec: block.timestampSec,
    })),
    silent: read.silent.map((each) => ({ ...toPlace(each), listed: requireAsked(listed[each.vault]) })),
  }
}

function requireAsked<T>(value: T | undefined): T {
  if (value === undefined) throw new UpstreamError('Cannot decode the lens: it answers what was not asked')
  return value
}
