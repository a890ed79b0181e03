import type { ComponentChildren } from 'preact'
import type { Asset, ToDo } from '../../lib/shapes.ts'
import { formatMoment } from '../../lib/time.ts'
import { Amount, TokenSymbol, Usd } from '../../part/figure.tsx'
import { nameColumn, Table, textColumn } from '../../part/table.tsx'

interface AssetCardProps {
  readonly title: string
  readonly place: string
  readonly assets: readonly Asset[]
  readonly toDo: readonly ToDo[]
  readonly children?: ComponentChildren
}

/** Card of what the portfolio knows of a position or a token, whatever its protocol. */
export function AssetCard({ title, place, assets, toDo, children }: AssetCardProps) {
  return (
    <article class="card holding" aria-label={title}>
      <header>
        <h4>{title}</h4>
        <p class="soft">{place}</p>
      </header>
      {toDo.map(({ text }) => (
        <p key={text}>{text}</p>
      ))}
      {assets.length > 0 && (
        <Table
          label={`What ${title} holds`}
          columns={['Token', 'Amount', 'Price', 'Counted', nameColumn('As'), textColumn('To know')]}
        >
          {assets.map((asset) => (
            <tr>
              <th scope="row">
                <TokenSymbol symbol={asset.token.symbol} />
              </th>
              <td>
                {asset.amount.amount === null ? (
                  `${asset.amount.raw} units`
                ) : (
                  <Amount value={asset.amount.amount} symbol={asset.token.symbol} />
                )}
              </td>
              <td>
                <Usd value={asset.price_usd} />
              </td>
              <td>{asset.value_usd === null ? 'not counted' : <Usd value={asset.value_usd} />}</td>
              <td class="left">{namePart(asset)}</td>
              <td class="words">{describeAsset(asset)}</td>
            </tr>
          ))}
        </Table>
      )}
      {children}
    </article>
  )
}

const KINDS: Record<Asset['kind'], string> = {
  wallet: 'in the wallet',
  liquidity: 'liquidity',
  supplied: 'supplied',
  borrowed: 'debt',
}

function namePart({ kind, position }: Asset) {
  const part = position?.['part']
  return kind === 'liquidity' && typeof part === 'string' ? part : KINDS[kind]
}

/** Where the price is from, what of the amount is not counted, and when a debt falls due. */
function describeAsset({ price_source, not_counted, limited_by, detail, due_at, health_factor, position }: Asset) {
  const sentences = [
    price_source === null ? '' : `Priced by ${price_source === 'pool' ? 'a pool' : price_source.replaceAll('_', ' ')}`,
    position?.['part'] === 'withdrawn' ? 'Withdrawn, and not collected yet' : '',
    not_counted === null
      ? ''
      : `Not counted: ${not_counted.amount ?? not_counted.raw}, ${not_counted.reason.replaceAll('_', ' ')}`,
    limited_by === null ? '' : `A withdrawal is limited by ${limited_by.replaceAll('_', ' ')}`,
    health_factor === null || health_factor === undefined ? '' : `Health factor ${health_factor}`,
    due_at === null || due_at === undefined ? '' : `Due ${formatMoment(due_at)}`,
    detail ?? '',
  ]
  return sentences.filter((sentence) => sentence !== '').join('. ')
}
