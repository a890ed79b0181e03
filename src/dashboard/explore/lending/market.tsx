import { nameProtocol } from '../../lib/protocol.ts'
import type { AaveV3Calculations, LendingPosition, MarketPosition } from '../../lib/shapes.ts'
import { DefinitionList, Usd } from '../../part/figure.tsx'
import type { Context } from '../page.tsx'
import type { Owner, Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { Assets } from './assets.tsx'
import { LendingCard } from './card.tsx'

interface MarketCardProps {
  /** Last segment of the family's path. */
  readonly protocol: string
  readonly position: MarketPosition
  /** Null if they cannot be computed. */
  readonly figures: AaveV3Calculations | null
  readonly owner: Owner
  readonly context: Context
}

/** What a bell at a market watches. */
export function watchMarket(
  { marketId, healthFactor }: MarketPosition,
  { protocol, owner: { chainId, wallet } }: Pick<MarketCardProps, 'protocol' | 'owner'>,
): Watched {
  return {
    chainId,
    family: protocol,
    subject: { wallet, market_id: marketId },
    name: `${nameProtocol(protocol)}, market ${marketId}`,
    figure: 'health_factor',
    value: healthFactor ?? 'MAX',
  }
}

/** A market of any lending family in which the wallet has a position. */
export function MarketCard({ protocol, position, figures, owner, context }: MarketCardProps) {
  const watched = watchMarket(position, { protocol, owner })
  const bell = <TriggerBell watched={watched} context={context} />
  const shown = { label: watched.name, family: nameProtocol(protocol), place: position.marketId }
  if (figures === null || !isWhole(position)) return <PartialCard {...shown} position={position} />
  return <LendingCard {...shown} bell={bell} position={position} figures={figures} legs={undefined} />
}

/** True if all sums of a position are known. */
function isWhole(position: MarketPosition): position is MarketPosition & LendingPosition {
  const { healthFactor, netWorthUSD, totalCollateralUSD, totalDebtUSD } = position
  return ![healthFactor, netWorthUSD, totalCollateralUSD, totalDebtUSD].includes(null)
}

interface PartialCardProps {
  readonly label: string
  readonly family: string
  readonly place: string
  readonly position: MarketPosition
}

/** What is known of a position whose prices or health factor do not answer. */
function PartialCard({ label, family, place, position }: PartialCardProps) {
  const { suppliedAssets, borrowedAssets, totalCollateralUSD, totalDebtUSD, reason } = position
  const supplied = suppliedAssets.map(({ symbol, amount, amountSuppliedUSD: usd, supplyAPY: apy, isCollateral }) => ({
    symbol,
    amount,
    usd,
    apy,
    note: isCollateral ? '' : 'not collateral',
  }))
  const borrowed = borrowedAssets.map(({ symbol, amount, amountBorrowedUSD: usd, borrowAPY: apy }) => ({
    symbol,
    amount,
    usd,
    apy,
    note: '',
  }))
  return (
    <article class="card market" aria-label={label}>
      <header>
        <h4>
          {family} <span class="soft">{place}</span>
        </h4>
      </header>
      <p>Its health factor is not known{reason ? `: ${reason}` : ''}.</p>
      <DefinitionList
        rows={[
          ['Collateral', <Usd value={totalCollateralUSD} />],
          ['Debt', <Usd value={totalDebtUSD} />],
        ]}
      />
      <div class="sides">
        <Assets title="Supplied" kind="supply" rows={supplied} />
        <Assets title="Borrowed" kind="debt" rows={borrowed} />
      </div>
    </article>
  )
}
