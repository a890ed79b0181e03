import type { Answer, Failure } from '../lib/api.ts'
import { requestUnlessGone } from '../lib/api.ts'
import { hasReceipt } from '../lib/catalog.ts'
import { downloadFile } from '../lib/download.ts'
import { useSignal } from '../lib/hooks.ts'
import { pluralize } from '../lib/time.ts'
import { useState } from '../lib/view.ts'
import { Copy } from '../part/copy.tsx'
import { Provenance } from '../part/provenance.tsx'
import { Csv } from './csv.tsx'
import type { Context } from './page.tsx'

/** Price of a receipt, in addition to the answer, which is requested again. */
const CREDITS = 2

export type RequestContext = Pick<Context, 'key' | 'catalog'>

/** Provenance of an answer, with buttons for its CSV and its receipt. */
export function AnswerSource({ answer, context }: { answer: Answer; context: RequestContext }) {
  const { key, catalog } = context
  return (
    <Provenance answer={answer} catalog={catalog}>
      <Csv answer={answer} apiKey={key} catalog={catalog} />
      <Receipt key={answer.path} answer={answer} context={context} />
    </Provenance>
  )
}

/**
 * Button that requests the receipt of an answer at its block, downloads it, and shows the command that verifies it. Renders
 * nothing if the answer cannot have a receipt.
 */
export function Receipt({ answer, context: { key, catalog } }: { answer: Answer; context: RequestContext }) {
  const [state, setState] = useState<{ file?: string; failure?: string; isLoading?: boolean }>({})
  const startSignal = useSignal()
  const download = async () => {
    setState({ isLoading: true })
    const signal = startSignal()
    const response: Answer<{ receipt?: { payload: string } }> | Failure | undefined = await requestUnlessGone(
      toReceiptPath(answer),
      { key, signal },
    )
    if (response === undefined) return undefined
    if (!response.ok) return setState({ failure: response.message })
    const { receipt } = response.body
    if (receipt === undefined) return setState({ failure: 'The answer came without a receipt.' })
    const file = `${JSON.parse(atob(receipt.payload)).id}.json`
    downloadFile(file, JSON.stringify(receipt), 'application/json')
    return setState({ file })
  }
  if (!hasReceipt(catalog, answer.path)) return null
  const { file, failure, isLoading = false } = state
  const price = answer.credits === undefined ? '' : `, ${pluralize(answer.credits + CREDITS, 'credit')}`
  return (
    <div class="receipt">
      <button type="button" class="small" disabled={isLoading} onClick={download}>
        Receipt{price}
      </button>
      {failure === undefined ? null : <p role="alert">{failure}</p>}
      {file === undefined ? null : <Verify file={file} />}
    </div>
  )
}

function Verify({ file }: { file: string }) {
  const keys = new URL('.well-known/walletscope-keys.json', document.baseURI).href
  const command = `walletscope verify ${file} --key ${keys}`
  return (
    <>
      <p role="status">Saved. Verify it with:</p>
      <div class="command">
        <pre tabindex={0}>
          <code>{command}</code>
        </pre>
        <Copy text={command} label="Copy the command" />
      </div>
    </>
  )
}

/** Returns the path of the same request with a receipt, pinned to the block of the answer. */
function toReceiptPath({ path, asOf: [read] }: Answer) {
  const [route = '', query] = path.split('?')
  const parameters = new URLSearchParams(query)
  parameters.delete('at_time')
  if (read !== undefined && (parameters.has('chain_id') || /\/position\/\d+\//.test(route))) {
    parameters.set('at_block', read.block)
  }
  parameters.set('receipt', 'true')
  return `${route}?${parameters}`
}
