import type { ComponentChildren } from 'preact'
import type { Answer } from '../lib/api.ts'
import type { Catalog } from '../lib/catalog.ts'
import { chainName, SOLANA_CHAIN_ID } from '../lib/catalog.ts'
import { formatMoment, pluralize } from '../lib/time.ts'
import { Copy } from './copy.tsx'
import { Disclosure } from './disclosure.tsx'

interface ProvenanceProps {
  readonly answer: Answer
  readonly catalog: Catalog
  readonly children?: ComponentChildren
}

/** Provenance of an answer: blocks, time, credits, duration, and the equivalent `curl` call. */
export function Provenance({ answer, catalog, children }: ProvenanceProps) {
  const { asOf, atSec, credits, ms, path } = answer
  return (
    <footer class="proof">
      <p>
        {asOf.map(({ chainId, block }) => (
          <span>
            {chainName(catalog, chainId)} {chainId === SOLANA_CHAIN_ID ? 'slot' : 'block'}{' '}
            <b>{Number(block).toLocaleString('en')}</b>
          </span>
        ))}
        {credits === undefined ? null : (
          <span>
            <b>{pluralize(credits, 'credit')}</b>
          </span>
        )}
        <span>{ms.toLocaleString('en')} ms</span>
        <span>read {formatMoment(atSec)}</span>
      </p>
      <Curl path={path} />
      {children}
    </footer>
  )
}

/** The equivalent `curl` call. */
function Curl({ path }: { path: string }) {
  const url = new URL(path, document.baseURI).href.replaceAll("'", '%27')
  const command = `curl -H "Authorization: Bearer $WALLETSCOPE_KEY" '${url}'`
  return (
    <Disclosure class="curl" title="curl">
      <div>
        <pre tabindex={0}>
          <code>{command}</code>
        </pre>
        <Copy text={command} label="Copy the command" />
      </div>
    </Disclosure>
  )
}
