import { drawPage } from '../lib/view.ts'
import { UsagePage } from './page.tsx'

drawPage(<UsagePage />)
