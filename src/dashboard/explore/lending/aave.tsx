import type { AaveV3Calculations, AaveV3Position } from '../../lib/shapes.ts'
import type { Context } from '../page.tsx'
import type { Owner, Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { LendingCard } from './card.tsx'
import { MarketHistory } from './history.tsx'
import { aaveLegs } from './legs.ts'

const ETHEREUM = 1
/** Aave's own names of its markets on Ethereum. Other chains have one market, named after the chain. */
const MARKET_NAMES: Record<string, string> = { main: 'Core', lido: 'Prime', etherfi: 'EtherFi' }

/** What a bell at a market of Aave V3 watches. */
export function watchAave({ marketId, healthFactor }: AaveV3Position, { chainId, wallet }: Owner): Watched {
  return {
    chainId,
    family: 'aave-v3',
    subject: { wallet, market_id: marketId },
    name: `Aave V3, market ${marketId}`,
    figure: 'health_factor',
    value: healthFactor,
  }
}

interface AaveCardProps {
  readonly position: AaveV3Position
  readonly figures: AaveV3Calculations
  readonly owner: Owner
  readonly context: Context
}

/** A market of Aave V3 in which the wallet has a position. */
export function AaveCard({ position, figures, owner, context }: AaveCardProps) {
  const watched = watchAave(position, owner)
  return (
    <LendingCard
      label={watched.name}
      family="Aave V3"
      place={formatMarketName(position.marketId, owner.chainId)}
      position={position}
      bell={<TriggerBell watched={watched} context={context} />}
      figures={figures}
      legs={aaveLegs(position)}
    >
      <MarketHistory chainId={owner.chainId} marketId={position.marketId} context={context} />
    </LendingCard>
  )
}

/** Names a market as Aave does: `Core (main)`. */
export function formatMarketName(marketId: string, chainId: number) {
  const name = chainId === ETHEREUM ? MARKET_NAMES[marketId] : undefined
  return name === undefined ? marketId : `${name} (${marketId})`
}
