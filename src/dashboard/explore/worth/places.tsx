import type { Catalog } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { nameProtocol } from '../../lib/protocol.ts'
import { DefinitionList, Usd } from '../../part/figure.tsx'
import type { Worth } from './figures.ts'

interface PlacesProps {
  readonly now: NonNullable<Worth['now']>
  readonly catalog: Catalog
}

/** Net worth by chain and by protocol. */
export function Places({ now: { by_chain, by_protocol }, catalog }: PlacesProps) {
  if (by_chain.length === 0) return null
  const draw = (usd: string | null) => (usd === null ? <span class="absent">unknown</span> : <Usd value={usd} />)
  return (
    <details class="places">
      <summary>By chain and protocol</summary>
      <div class="sides">
        <DefinitionList rows={by_chain.map((each) => [chainName(catalog, each.chain_id), draw(each.net_usd)])} />
        <DefinitionList
          rows={by_protocol.map((each) => [
            `${nameProtocol(each.code)}, ${chainName(catalog, each.chain_id)}`,
            draw(each.net_usd),
          ])}
        />
      </div>
    </details>
  )
}
