import { shortened } from '../lib/address.js'
import { ask } from '../lib/api.js'
import { givesTable } from '../lib/catalog.js'
import { save } from '../lib/save.js'
import { counted } from '../lib/time.js'
import { html, useState } from '../lib/view.js'
import { useRove } from '../part/rove.js'

/**
 * Asks for the rows of a list once more, as a file for spreadsheets; nothing for what is not a list.
 * @param {{ answer: import('../lib/api.js').Answer, apiKey: string, catalog: import('../lib/catalog.js').Catalog }} props
 */
export function Csv({ answer: { path, credits = 0 }, apiKey, catalog }) {
  const [state, setState] = useState(/** @type {{ failure?: string, isAsked?: boolean }} */ ({}))
  const rove = useRove()
  if (!givesTable(catalog, path)) return null
  const get = async () => {
    setState({ isAsked: true })
    const asked = await ask(`${path}&format=csv`, { key: apiKey })
    if (!asked.ok) return setState({ failure: asked.message })
    save(fileName(path), String(asked.body), 'text/csv')
    return setState({})
  }
  const { failure, isAsked = false } = state
  return html`<button ...${rove} type="button" class="small" disabled=${isAsked} onClick=${get} aria-label=${`These rows as CSV, ${counted(credits, 'credit')}`}>CSV <i>${counted(credits, 'credit')}</i></button>
    ${failure && html`<span role="alert">${failure}</span>`}`
}

/** `lending_aave-v3_0x1234…abcd.csv` @param {string} path */
function fileName(path) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  const words = [route.replace('v1/', '').replaceAll('/', '_'), parameters.get('chain_id'), parameters.get('market_id')]
  return `${[...words, shortened(parameters.get('wallet') ?? '')].filter(Boolean).join('_')}.csv`
}
