import type { ComponentChildren } from 'preact'
import { useErrorBoundary } from '../lib/view.ts'

/** Part of a page. If it cannot be drawn, it says so, and the rest of the page stays. */
export function Guard({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary()
  if (error === undefined) return children
  return (
    <div class="notice trouble" role="alert">
      <p class="notice-title">This cannot be drawn</p>
      <p>The page may be older or newer than the service: reload it. No figure of this part is shown.</p>
      <p class="notice-end">
        <code>{String(error)}</code>
      </p>
    </div>
  )
}
