import type { AaveV3Calculations, AaveV3Position } from '../../lib/shapes.ts'
import type { Context } from '../page.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import { LendingPart } from '../section.tsx'
import type { Watched } from '../trigger/bell.tsx'
import { TriggerBell } from '../trigger/bell.tsx'
import { LendingCard } from './card.tsx'
import { MarketHistory } from './history.tsx'
import { aaveLegs } from './legs.ts'

const ETHEREUM = 1
/** Aave's own names of its markets on Ethereum. Other chains have one market, named after the chain. */
const MARKET_NAMES: Record<string, string> = { main: 'Core', lido: 'Prime', etherfi: 'EtherFi' }

/** The markets of Aave V3 on one chain. */
export function AavePart({ part, context }: { part: RequestedPart; context: Context }) {
  const { chainId } = part
  return (
    <LendingPart part={part} context={context}>
      {drawPosition}
    </LendingPart>
  )

  function drawPosition(position: AaveV3Position, figures: AaveV3Calculations, wallet: string) {
    const { marketId, healthFactor } = position
    const name = `Aave V3, market ${marketId}`
    const watched: Watched = {
      chainId,
      family: 'aave-v3',
      subject: { wallet, market_id: marketId },
      name,
      figure: 'health_factor',
      value: healthFactor,
    }
    return (
      <LendingCard
        key={marketId}
        label={name}
        family="Aave V3"
        place={formatMarketName(marketId, chainId)}
        position={position}
        bell={<TriggerBell watched={watched} context={context} />}
        figures={figures}
        legs={aaveLegs(position)}
      >
        <MarketHistory chainId={chainId} marketId={marketId} context={context} />
      </LendingCard>
    )
  }
}

function formatMarketName(marketId: string, chainId: number) {
  const name = chainId === ETHEREUM ? MARKET_NAMES[marketId] : undefined
  return name === undefined ? marketId : `${name} (${marketId})`
}
