// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// The contract behind a price feed that answers nothing below or above its bounds, or behind a feed about a sequencer.
contract BoundedAggregator {
    uint8 public constant decimals = 8;
    int192 public minAnswer;
    int192 public maxAnswer;

    int256 private _answer;
    uint256 private _startedAt;
    uint256 private _updatedAt;

    constructor(int192 min, int192 max) {
        minAnswer = min;
        maxAnswer = max;
    }

    function set(int256 answer, uint256 startedAt, uint256 updatedAt) external {
        _answer = answer;
        _startedAt = startedAt;
        _updatedAt = updatedAt;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (1, _answer, _startedAt, _updatedAt, 1);
    }
}
