import { shortenAddress } from '../lib/address.ts'
import type { Answer } from '../lib/api.ts'
import { requestUnlessGone } from '../lib/api.ts'
import type { Catalog } from '../lib/catalog.ts'
import { hasCsv } from '../lib/catalog.ts'
import { downloadFile } from '../lib/download.ts'
import { useSignal } from '../lib/hooks.ts'
import { pluralize } from '../lib/time.ts'
import { useState } from '../lib/view.ts'

interface CsvProps {
  readonly answer: Answer
  readonly apiKey: string
  readonly catalog: Catalog
}

/**
 * Button that requests the rows of a list again and downloads them as CSV. Renders nothing if the answer is no list.
 */
export function Csv({ answer: { path, credits = 0 }, apiKey, catalog }: CsvProps) {
  const [state, setState] = useState<{ failure?: string; isLoading?: boolean }>({})
  const startSignal = useSignal()
  if (!hasCsv(catalog, path)) return null
  const download = async () => {
    setState({ isLoading: true })
    const signal = startSignal()
    // The button names the price of these rows: without a page the table would have the whole list.
    const page = /[?&](?:page|limit)=/.test(path) ? '' : '&page=1'
    const response = await requestUnlessGone(`${path}${page}&format=csv`, { key: apiKey, signal })
    if (response === undefined) return undefined
    if (!response.ok) return setState({ failure: response.message })
    downloadFile(formatFileName(path), String(response.body), 'text/csv')
    return setState({})
  }
  const { failure, isLoading = false } = state
  return (
    <>
      <button
        type="button"
        class="small"
        disabled={isLoading}
        onClick={download}
        aria-label={`These rows as CSV, ${pluralize(credits, 'credit')}`}
      >
        CSV <i>{pluralize(credits, 'credit')}</i>
      </button>
      {failure && <span role="alert">{failure}</span>}
    </>
  )
}

/** `lending_aave-v3_0x1234…abcd.csv` */
function formatFileName(path: string) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  const words = [route.replace('v1/', '').replaceAll('/', '_'), parameters.get('chain_id'), parameters.get('market_id')]
  return `${[...words, shortenAddress(parameters.get('wallet') ?? '')].filter(Boolean).join('_')}.csv`
}
