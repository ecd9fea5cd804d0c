// SPDX-License-Identifier: Apache-2.0
import { Card, Empty } from '../ui/parts';

export function Lost() {
    return <Card><Empty title="There is no such page">The address leads nowhere. <a href="#/">All boards</a></Empty></Card>;
}
