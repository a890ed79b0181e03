import type { ComponentChildren } from 'preact'
import { announce } from '../lib/announce.ts'
import { useEffect, useState } from '../lib/view.ts'

const MESSAGE_MS = 1_500

interface CopyProps {
  readonly text: string
  readonly label: string
  readonly class?: string
  readonly children?: ComponentChildren
}

/** Button that copies `text` and announces the outcome. */
export function Copy({ text, label, children, ...rest }: CopyProps) {
  const [state, copy] = useCopy(text)
  return (
    <button type="button" class={rest.class ?? 'copy'} onClick={copy} aria-label={label}>
      {children ?? <CopyIcon done={state === 'done'} />}
      <span class={state === 'failed' ? 'bad' : 'visually-hidden'}>{MESSAGES[state]}</span>
    </button>
  )
}

const MESSAGES: Record<'idle' | 'done' | 'failed', string> = {
  idle: '',
  done: 'Copied',
  failed: 'Cannot copy here: select the text',
}

export function useCopy(text: string): ['idle' | 'done' | 'failed', () => void] {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  useEffect(() => {
    // What failed stays: a secret that is thought to be copied is lost.
    if (state !== 'done') return undefined
    const timer = setTimeout(() => setState('idle'), MESSAGE_MS)
    return () => clearTimeout(timer)
  }, [state])
  const finish = (next: 'done' | 'failed') => {
    setState(next)
    announce(MESSAGES[next])
  }
  const copy = () => {
    // `navigator.clipboard` is undefined on a page over plain HTTP from another machine.
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    copying.then(
      () => finish('done'),
      () => finish('failed'),
    )
  }
  return [state, copy]
}

function CopyIcon({ done }: { done: boolean }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {done ? <path d="M3 8.5l3.2 3.2L13 4.8" /> : <path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />}
    </svg>
  )
}
