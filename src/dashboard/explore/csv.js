import { shortenAddress } from '../lib/address.js'
import { requestUnlessGone } from '../lib/api.js'
import { hasCsv } from '../lib/catalog.js'
import { downloadFile } from '../lib/download.js'
import { useSignal } from '../lib/hooks.js'
import { pluralize } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { useRovingFocus } from '../part/roving_focus.js'

/**
 * Button that requests the rows of a list again and downloads them as CSV. Renders nothing if the answer is no list.
 * @param {{ answer: import('../lib/api.js').Answer, apiKey: string, catalog: import('../lib/catalog.js').Catalog }} props
 */
export function Csv({ answer: { path, credits = 0 }, apiKey, catalog }) {
  const [state, setState] = useState(/** @type {{ failure?: string, isLoading?: boolean }} */ ({}))
  const rove = useRovingFocus()
  const startSignal = useSignal()
  if (!hasCsv(catalog, path)) return null
  const download = async () => {
    setState({ isLoading: true })
    const signal = startSignal()
    const response = await requestUnlessGone(`${path}&format=csv`, { key: apiKey, signal })
    if (response === undefined) return undefined
    if (!response.ok) return setState({ failure: response.message })
    downloadFile(formatFileName(path), String(response.body), 'text/csv')
    return setState({})
  }
  const { failure, isLoading = false } = state
  return html`<button ...${rove} type="button" class="small" disabled=${isLoading} onClick=${download} aria-label=${`These rows as CSV, ${pluralize(credits, 'credit')}`}>CSV <i>${pluralize(credits, 'credit')}</i></button>
    ${failure && html`<span role="alert">${failure}</span>`}`
}

/** `lending_aave-v3_0x1234…abcd.csv` @param {string} path */
function formatFileName(path) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  const words = [route.replace('v1/', '').replaceAll('/', '_'), parameters.get('chain_id'), parameters.get('market_id')]
  return `${[...words, shortenAddress(parameters.get('wallet') ?? '')].filter(Boolean).join('_')}.csv`
}
